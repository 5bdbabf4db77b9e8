export * from "./notation";
export * from "./position";
