package edge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// counting is a Discord that accepts everything and notes when requests with the bot's token came.
type counting struct {
	mu   sync.Mutex
	came []time.Time
}

func (c *counting) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if strings.HasPrefix(r.Header.Get("Authorization"), "Bot ") {
		c.came = append(c.came, time.Now())
	}
	c.mu.Unlock()
	fmt.Fprint(rw, `{"id":"1"}`)
}

func (c *counting) times() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.came)
}

// busiest is the greatest number of requests within one second.
func busiest(times []time.Time) (most int) {
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Many workspaces that burst at once stay below the 50 requests a second that a bot may make in all its guilds. The test
// core sends what it is told to; the pace is the real core's.
func TestPaceOfManyWorkspaces(t *testing.T) {
	const workspaces, burst = 8, 25
	discord := &counting{}
	d := start(t, discord.ServeHTTP, nil)
	var effects []string
	for i := range burst {
		effects = append(effects, fmt.Sprintf(`{"id":"d%d","epoch":1,"type":"http","target":"discord","credential":"bot","method":"POST","path":"/channels/5/messages","body":{}}`, i))
	}
	result := `{"v":1,"effects":[` + strings.Join(effects, ",") + `]}`
	var sending sync.WaitGroup
	for i := range workspaces {
		sending.Go(func() { d.must(fmt.Sprintf("workspace:11/w%d", i), "do", result) })
	}
	sending.Wait()
	d.until(func() bool { return len(discord.times()) == workspaces*burst })
	times := discord.times()
	span := times[len(times)-1].Sub(times[0])
	most, draws := busiest(times), d.tally("application").Events["actor"]
	t.Logf("%d requests in %v, at most %d within a second; %d draws", len(times), span.Round(time.Millisecond), most, draws)
	if most > 50 {
		t.Errorf("%d requests within a second", most)
	}
	if draws >= len(times)/2 {
		t.Errorf("%d draws for %d requests: they are not drawn in lots", draws, len(times))
	}
}

// Requests that do not count with Discord do not wait.
func TestPaceIsOfTheBotsTokenOnly(t *testing.T) {
	d := start(t, (&counting{}).ServeHTTP, nil)
	d.must(home, "do", `{"v":1,"effects":[{"id":"d1","epoch":1,"type":"http","target":"discord","method":"POST","path":"/webhooks/1/t"},`+
		`{"id":"o1","epoch":1,"type":"http","target":"model:a","credential":"model:a","method":"POST","path":"/x"}]}`)
	d.until(func() bool { return d.tally(home).Events["effect"] == 2 })
	if draws := d.tally("application").Events["actor"]; draws != 0 {
		t.Errorf("%d draws", draws)
	}
}

// A workspace that does little draws once for all it does in ten seconds.
func TestPaceOfAQuietWorkspace(t *testing.T) {
	discord := &counting{}
	d := start(t, discord.ServeHTTP, nil)
	for i := range 3 {
		d.must(home, "do", `{"v":1,"effects":[{"id":"d1","epoch":1,"type":"http","target":"discord","credential":"bot","method":"POST","path":"/channels/5/messages"}]}`)
		d.until(func() bool {
			times := discord.times()
			return len(times) == i+1 && time.Since(times[i]) > 1100*time.Millisecond
		})
	}
	if draws := d.tally("application").Events["actor"]; draws != 1 {
		t.Errorf("%d draws for 3 requests, more than a second apart", draws)
	}
}

// When the application directory is broken, requests go on without it.
func TestPaceWithoutTheDirectory(t *testing.T) {
	var came sync.WaitGroup
	came.Add(1)
	var once sync.Once
	d := start(t, func(rw http.ResponseWriter, r *http.Request) { once.Do(came.Done) }, nil)
	d.must("application", "plan", `{"on":"actor","result":{"v":1,"reply":{"status":200,"body":"no grant"}}}`)
	d.must(home, "do", `{"v":1,"effects":[{"id":"d1","epoch":1,"type":"http","target":"discord","credential":"bot","method":"GET","path":"/x"}]}`)
	d.await(home, "effect")
	came.Wait()
}
