package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/workspaces/1/main/usage" || r.URL.Query().Get("day") != "2026-11-30" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte(`{"day":"2026-11-30","tokens":1310,"micro_dollars":41000,"budget":{"workspace":{"tokens":5000},"user":{"micro_dollars":500000}},
			"spend":[{"user":"11","model":"a,b","tokens":1200,"micro_dollars":40880},{"user":"12","model":"m","tokens":110,"micro_dollars":120}]}`))
	}))
	defer edge.Close()
	env := map[string]string{"HOLDFAST_URL": edge.URL, "HOLDFAST_TOKEN": "hf1.x", "HOLDFAST_WORKSPACE": "1/main"}
	for flag, want := range map[string]string{
		"--csv": "day,user,model,tokens,micro_dollars\n2026-11-30,11,\"a,b\",1200,40880\n2026-11-30,12,m,110,120\n",
		"":      "all   -      1310    $0.041\nBudget of the workspace: 5,000 tokens a day; of each person: $0.50 a day.\n",
	} {
		r := holdfast(t, env, strings.Fields("usage --day 2026-11-30 "+flag)...)
		if r.code != 0 || !strings.HasSuffix(r.out, want) {
			t.Errorf("usage %s: %d, %q, %s", flag, r.code, r.out, r.err)
		}
	}
}
