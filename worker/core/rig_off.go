//go:build wasip1 && !rig

package main

func rig([]byte) {}
