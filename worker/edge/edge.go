// Package edge holds the Cloudflare Worker's modules, so that tests can run them in workerd.
package edge

import "embed"

// CompatibilityDate is the date that wrangler.toml names: what workerd may do is decided by it.
const CompatibilityDate = "2026-11-01"

// Modules are the Worker's ES modules. front.mjs is the entry. rig.mjs does nothing; a test build puts rig_test.mjs
// in its place.
//
//go:embed *.mjs
var Modules embed.FS
