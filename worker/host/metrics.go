package host

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"holdfast/actor/errs"
)

// metrics are what GET /metrics shows. Labels have few values: types, kinds and codes, never ids.
type metrics struct {
	registry *prometheus.Registry
	events   *prometheus.CounterVec   // by type and result: committed, or the code of the error
	seconds  *prometheus.HistogramVec // in the core, by type
	commits  prometheus.Histogram     // from the alarm index to the commit
	effects  *prometheus.CounterVec   // by type
	outcomes *prometheus.CounterVec   // of http effects, by kind
	requests *prometheus.CounterVec   // HTTP answers, by status
	crashes  prometheus.Counter
	drops    prometheus.Counter
	damaged  prometheus.Counter
}

func newMetrics(h *Host) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "holdfast", Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		events:   counter("events_total", "Events handled, by type and result.", "type", "result"),
		effects:  counter("effects_total", "Effects launched, by type.", "type"),
		outcomes: counter("http_effects_total", "HTTP effects that ended, by kind of outcome.", "kind"),
		requests: counter("http_requests_total", "Requests answered, by status.", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "holdfast", Name: "core_seconds",
			Help: "Time of an event in the core, by type.", Buckets: prometheus.ExponentialBuckets(0.0002, 4, 8)}, []string{"type"}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "holdfast", Name: "commit_seconds",
			Help: "Time until an event's commit, and what the alarm index needs before it, are on the disk.", Buckets: prometheus.ExponentialBuckets(0.0002, 4, 8)}),
		crashes: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "holdfast", Name: "core_crashes_total",
			Help: "Attempts of events in which the core trapped, exited or ran out of fuel."}),
		drops: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "holdfast", Name: "actor_drops_total",
			Help: "Actors that were opened again after an uncertain commit."}),
		damaged: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "holdfast", Name: "actors_damaged_total",
			Help: "Databases that were found to be damaged since the start."}),
	}
	gauge := func(name, help string, f func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "holdfast", Name: name, Help: help}, func() float64 {
			h.mu.Lock()
			defer h.mu.Unlock()
			return float64(f())
		})
	}
	writes := prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "holdfast", Name: "alarm_writes_total",
		Help: "Commits of the alarm index."}, func() float64 { return float64(h.index.Writes()) })
	m.registry.MustRegister(m.events, m.seconds, m.commits, writes, m.effects, m.outcomes, m.requests, m.crashes, m.drops, m.damaged,
		gauge("actors_open", "Actors that are open.", func() int { return len(h.actors) }),
		gauge("backlog", "Events waiting, effects in flight and sockets open.", func() int { return h.refs }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) event(kind string, err *errs.Error) {
	result := "committed"
	if err != nil {
		result = string(err.Code)
	}
	m.events.WithLabelValues(kind, result).Inc()
}

// timer measures an event in the core.
func (m *metrics) timer(kind string) *prometheus.Timer {
	return prometheus.NewTimer(m.seconds.WithLabelValues(kind))
}
