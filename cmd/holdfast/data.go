package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"holdfast/actor/errs"
	"holdfast/clock"
	"holdfast/cmd/holdfast/config"
)

// folder is the data folder of `holdfast run`. One process at a time holds it.
type folder struct {
	path string
	lock *os.File
}

// What run keeps in its folder.
const (
	edgeData       = "edge"
	playgroundData = "playground"
	runnerData     = "runner"
	sampleData     = "sample"
	cacheData      = "cache"
	secretFile     = "secret"
	lockFile       = "run.lock"
)

// openFolder makes the folder when it is missing and takes it for this process. fresh deletes what an earlier run
// left in it, and nothing else.
func openFolder(path string, fresh bool) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	f := &folder{path: path}
	if f.lock, err = os.OpenFile(f.in(lockFile), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := f.hold(clock.Patience()); err != nil {
		f.lock.Close()
		return nil, errs.New(errs.Conflict, "Another `holdfast run` uses %s.", path).WithHint("Stop it, or name another folder with --data.")
	}
	if fresh {
		for _, name := range []string{edgeData, playgroundData, runnerData, sampleData, secretFile, accessFile, seedMark} {
			if err := os.RemoveAll(f.in(name)); err != nil {
				f.close()
				return nil, fmt.Errorf("start afresh: %w", err)
			}
		}
	}
	return f, nil
}

// hold locks the folder. While another process does, again says whether to try once more.
func (f *folder) hold(again func() bool) error {
	for {
		err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) || !again() {
			return err
		}
	}
}

func (f *folder) in(name string) string { return filepath.Join(f.path, name) }

// close gives the folder free; so does the death of the process.
func (f *folder) close() error { return f.lock.Close() }

// secret is the deployment secret, made at the first start.
func (f *folder) secret() (config.Secret, error) {
	s, err := config.ReadSecret(f.in(secretFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return config.Secret{}, err
	}
	text := hex.EncodeToString(raw)
	return config.NewSecret(text), writeSecret(f.in(secretFile), []byte(text+"\n"))
}
