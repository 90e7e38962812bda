// Package sandbox runs a program with nothing but what it was given: files, time, memory and processes (spec 4.4).
//
// Bwrap is the sandbox proper. None is the runner's own user, for those who ask for it explicitly. Both kill every
// process of a call when it ends, and leave a pid file from which Reap ends what a killed runner left behind.
package sandbox

import (
	"os"
	"time"
)

// Kind says how a Mount's source appears in the sandbox.
type Kind int

// The kinds of mount.
const (
	ReadOnly Kind = iota // the source, unchangeable
	Writable             // the source itself
	Hidden               // Target is an existing file: an empty, unchangeable one covers it. Source is not used
	Scratch              // Target is an empty folder in memory, gone after the call. Source is not used
)

// Mount is a file or folder of the machine that the sandbox shows. Later mounts cover earlier ones.
type Mount struct {
	Kind   Kind
	Source string
	Target string // absolute; "" means the same as Source
}

// Limits end a call that takes too much. Zero fields mean the default.
type Limits struct {
	Processes int   // at once
	Memory    int64 // bytes that one process may allocate, and half of what all of them may use
	File      int64 // bytes of one file
	Disk      int64 // bytes that may disappear from the file system of the working folder during one call
	Scratch   int64 // bytes of /tmp, which is in memory
}

// DefaultLimits suit building and testing a project on a laptop.
var DefaultLimits = Limits{Processes: 512, Memory: 4 << 30, File: 2 << 30, Disk: 8 << 30, Scratch: 1 << 30}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	if l.Processes > 0 {
		d.Processes = l.Processes
	}
	for _, f := range []struct{ have, want *int64 }{
		{&d.Memory, &l.Memory}, {&d.File, &l.File}, {&d.Disk, &l.Disk}, {&d.Scratch, &l.Scratch},
	} {
		if *f.want > 0 {
			*f.have = *f.want
		}
	}
	return d
}

// Command is one program to run.
type Command struct {
	Name   string // of the pid file: unique among what runs, without a slash
	Argv   []string
	Dir    string // working folder, inside one of the mounts
	Env    []string
	Mounts []Mount
	Stdout *os.File // may be the same as Stderr: then both keep their order
	Stderr *os.File
}

// Exit says how a program ended.
type Exit struct {
	Code    int           // 128 + n after signal n
	Reason  string        // why the sandbox or a caller killed it, "" when it ended by itself
	Elapsed time.Duration // wall time
}

// Process is a program that runs, with all its descendants.
type Process interface {
	// Kill ends all of it; the first reason is kept for Exit. It may be called at any time.
	Kill(reason string)
	// Wait returns when no process of the call is left. The error says that the sandbox itself failed.
	Wait() (Exit, error)
}

// Sandbox starts programs.
type Sandbox interface {
	Name() string // "bwrap" or "none"
	// Start runs a command. When it returns an error nothing was executed.
	Start(Command) (Process, error)
}
