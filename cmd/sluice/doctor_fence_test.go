package main

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

func TestDoctorAboutTunnels(t *testing.T) {
	for _, c := range []struct {
		err  error
		want verdict
	}{{&confine.Impossible{Why: confine.NoTunnel, Hint: "chmod 0666 /dev/net/tun"}, failure}, {confine.ErrImpossible, failure}, {nil, fine}} {
		if got := aboutTunnel(c.err); got.Verdict != c.want {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}

func TestDoctorAboutTheSitesNetwork(t *testing.T) {
	if got := aboutSite(); got.Verdict != warning || got.Do == "" {
		t.Errorf("%+v", got)
	}
}

func TestDoctorAboutFences(t *testing.T) {
	for _, c := range []struct {
		err   error
		hides bool
		want  verdict
		do    bool
	}{
		{&confine.Impossible{Why: confine.NoProgram, Hint: "apt-get install bubblewrap"}, true, failure, true},
		{confine.ErrImpossible, true, failure, false},
		{nil, false, warning, true},
		{nil, true, fine, false},
	} {
		got := aboutFence(c.err, c.hides)
		if len(got) != 1 || got[0].Verdict != c.want || (got[0].Do != "") != c.do {
			t.Errorf("%v, hides %v: %+v", c.err, c.hides, got)
		}
	}
}

func TestDoctorAboutWhatAFenceShows(t *testing.T) {
	for _, c := range []struct {
		looked confine.Writable
		want   []verdict
	}{
		{confine.Writable{Whole: true}, []verdict{fine}},
		{confine.Writable{}, []verdict{warning}},
		{confine.Writable{Ways: []string{"/opt/p"}, Open: []string{"/opt"}, Whole: true}, []verdict{failure, failure}},
		{confine.Writable{Others: []string{"/opt"}, Whole: true}, []verdict{warning}},
	} {
		var got []verdict
		for _, f := range aboutShown(c.looked) {
			if got = append(got, f.Verdict); f.Verdict != fine && f.Do == "" {
				t.Errorf("%+v", f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.looked, got, c.want)
		}
	}
}
