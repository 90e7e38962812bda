package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"

	"holdfast/actor/frame"
	"holdfast/runner/sandbox"
)

// MaxInstructions is how much of a project's AGENTS.md travels, in bytes.
const MaxInstructions = 32 << 10

// Facts is what the workspace asks about the project. What cannot be found out is left empty.
func (p *Project) Facts(ctx context.Context) frame.Frame {
	f := frame.Frame{Type: frame.TypeFacts, AgentsMD: p.instructions()}
	if p.git != "" {
		p.mu.Lock()
		mounts := []sandbox.Mount{{Source: p.git}}
		if out, err := p.run(ctx, p.dir, mounts, "--git-dir="+p.git, "symbolic-ref", "--short", "-q", "HEAD"); err == nil {
			f.Branch = strings.TrimSpace(string(out))
		}
		if out, err := p.run(ctx, p.dir, mounts, "--git-dir="+p.git, "rev-parse", "--verify", "-q", "HEAD"); err == nil {
			f.Head = strings.TrimSpace(string(out))
		}
		p.mu.Unlock()
	}
	data, err := json.Marshal(f)
	if err != nil {
		return f // a frame of strings always has a JSON form
	}
	sum := sha256.Sum256(data)
	f.Hash = hex.EncodeToString(sum[:])
	return f
}

// instructions is the project's AGENTS.md, or its CLAUDE.md, cut to MaxInstructions.
func (p *Project) instructions() string {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, MaxInstructions))
		if err == nil {
			return strings.ToValidUTF8(string(text), "")
		}
	}
	return ""
}
