// Package web is the browser's part: the client of players, and the console of the host. Both
// are TypeScript in src, built by 'make web' into dist and embedded from there; without a
// build, pages say how to build them.
//
// Its nouns: a site is one of the two (site.go), made of assets (asset.go), whose
// names carry the hash of their content, and of one page that shows them.
//
// Invariants:
//
//   - Nothing that a page runs or shows comes from another host, and no script
//     is inline: the content security policy says so.
//   - An asset never changes under its name.
package web

import "embed"

//go:embed all:dist
var dist embed.FS

//go:embed unbuilt.html
var unbuilt string
