// Package clienttest puts real clients before the real program: a headless Chromium at the playground's page, driven as
// a person would with keyboard and mouse, and discord.js at its REST API. It holds tests only.
package clienttest
