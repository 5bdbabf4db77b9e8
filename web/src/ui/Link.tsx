// A link to another view, without loading the page again.

import type { ComponentProps } from "preact";
import { go } from "../app";

export function Link({ href, ...rest }: ComponentProps<"a"> & { href: string }) {
  return <a href={href} onClick={(e) => (e.preventDefault(), go(href))} {...rest} />;
}
