export * from "./bytes";
export * from "./codes.gen";
export * from "./extension";
export * from "./fragment";
export * from "./message";
export * from "./packet";
