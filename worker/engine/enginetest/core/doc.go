//go:build !wasip1

// Command core is the test core; it exists on wasip1 only.
package main

func main() {}
