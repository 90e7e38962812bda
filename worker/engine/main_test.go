package engine_test

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "engine"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
