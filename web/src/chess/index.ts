export * from "./notation";
export * from "./position";
export * from "./start";
