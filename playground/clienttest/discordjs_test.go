package clienttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDiscordJS runs discordjs.test.mjs, whose tests are discord.js against `holdfast playground`.
func TestDiscordJS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the real program and Node")
	}
	modules := filepath.Join(moduleRoot(), "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "discord.js")); err != nil {
		t.Fatalf("discord.js is missing: run make node (%v)", err)
	}
	node := filepath.Join(modules, ".bin", "node") // the one that npm installed, if there is one for this machine
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			t.Fatalf("Node is missing: install it with your package manager, on Debian and Ubuntu by: apt-get install nodejs npm (%v)", err)
		}
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	cmd := exec.Command(node, "--test", "--test-reporter=spec", "discordjs.test.mjs")
	cmd.Env = append(os.Environ(), "HOLDFAST="+bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
