package rig

// Runner is a runner that a scenario may kill.
type Runner interface {
	// Kill ends it as kill -9 would and returns once it is gone.
	Kill() error
	// Down is closed when it is gone.
	Down() <-chan struct{}
	// Said is the end of what it logged.
	Said() string
}
