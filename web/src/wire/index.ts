export * from "./bytes";
export * from "./control";
export * from "./extension";
export * from "./fragment";
export * from "./message";
export * from "./packet";
