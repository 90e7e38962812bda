// Package sample makes the git project that `holdfast run` works on when it is shown no other.
package sample

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// files are the project's, each with ".txt" added so that this module's tools leave them alone.
//
//go:embed files
var files embed.FS

// Names inside the folder that Make fills.
const (
	projectName = "berths"     // the working copy
	originName  = "berths.git" // the bare repository it pushes to
)

// Make makes the sample inside dir unless it is there, and returns the working copy's path. The folder appears as a
// whole: a start that was interrupted leaves nothing behind that counts. It needs git.
func Make(ctx context.Context, dir string) (project string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	project = filepath.Join(dir, projectName)
	if _, err := os.Stat(project); err == nil {
		return project, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".sample-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := build(ctx, tmp, filepath.Join(dir, originName)); err != nil {
		return "", fmt.Errorf("make the sample project: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil { // a folder without a project in it
		return "", err
	}
	return project, os.Rename(tmp, dir)
}

// build fills tmp, whose origin will be found at the path origin.
func build(ctx context.Context, tmp, origin string) error {
	project, bare := filepath.Join(tmp, projectName), filepath.Join(tmp, originName)
	if err := write(project); err != nil {
		return err
	}
	for _, step := range [][]string{
		{"init", "--quiet", "--bare", bare},
		{"init", "--quiet", project},
		{"-C", project, "add", "--all"},
		{"-C", project, "commit", "--quiet", "--message", "Decide which berth a ship gets"},
		{"-C", project, "push", "--quiet", bare, "main"},
		{"-C", project, "remote", "add", "origin", origin},
		{"-C", project, "update-ref", "refs/remotes/origin/main", "refs/heads/main"},
		{"-C", project, "branch", "--quiet", "--set-upstream-to", "origin/main"},
	} {
		if err := git(ctx, tmp, step...); err != nil {
			return err
		}
	}
	return nil
}

func write(project string) error {
	if err := os.MkdirAll(project, 0o755); err != nil {
		return err
	}
	entries, err := files.ReadDir("files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		raw, err := files.ReadFile("files/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(project, strings.TrimSuffix(e.Name(), ".txt")), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// git runs git with a fixed identity and date and without anybody's configuration, so that the sample is the same
// everywhere and no hook, template, alias or signing key has a say.
func git(ctx context.Context, home string, args ...string) error {
	safe := []string{"-c", "init.defaultBranch=main", "-c", "init.templateDir=", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	const who, email, date = "Holdfast", "holdfast@example.org", "2026-01-01T00:00:00Z"
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=" + who, "GIT_AUTHOR_EMAIL=" + email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + who, "GIT_COMMITTER_EMAIL=" + email, "GIT_COMMITTER_DATE=" + date,
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}
