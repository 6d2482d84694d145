package command

import "testing"

func TestArrayBounds(t *testing.T) {
	config := "Configuration data as of 2026-11-23T04:00:00\nMaxArraySize            = 1001\nMaxJobCount             = 10000\n" +
		"SchedulerParameters     = bf_continue,max_array_tasks=50,defer\nSLURM_VERSION           = 22.05.8\n"
	bounds := func(text string) ArrayBounds { s, _ := ParseSettings(text); return s.arrayBounds() }
	if got, want := bounds(config), (ArrayBounds{Size: 1001, Tasks: 50, Jobs: 10000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := bounds("SchedulerParameters     = (null)\nMaxArraySize = many\n"); got != (ArrayBounds{}) {
		t.Errorf("got %+v", got)
	}
}
