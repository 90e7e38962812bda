//go:build !wasip1

// Package abi is the guest's side of the WASM boundary; it exists on wasip1 only.
package abi
