package render

import (
	"fmt"
	"strconv"
	"strings"
)

// Thousands writes 12345 as 12,345.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count writes a number with its noun: 1 tool, 3 tools.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// tokens writes 812 tokens, 12.4k tokens, 3.1M tokens.
func tokens(n int64) string {
	switch {
	case n >= 999_950:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	}
	return count(n, "token")
}

// money writes millionths of a dollar; below a cent it says only that.
func money(micro int64) string {
	if micro < 10_000 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%d.%02d", micro/1_000_000, micro%1_000_000/10_000)
}

// duration writes 0.4 s, 4.1 s, 42 s, 3 min 5 s, 2 h 10 min.
func duration(ms int64) string {
	s := (ms + 500) / 1000
	switch {
	case ms < 9950:
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", s/60, s%60), " 0 s")
	}
	return strings.TrimSuffix(fmt.Sprintf("%d h %d min", s/3600, s%3600/60), " 0 min")
}

// relative is a moment that Discord's clients count by themselves; ms since 1970.
func relative(ms int64) string { return fmt.Sprintf("<t:%d:R>", ms/1000) }
