package vault

import (
	"errors"
	"testing"
	"time"
)

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]Release{
		"200MB/job,1GB/week":  {Job: 200e6, User: 1e9, Window: 7 * 24 * time.Hour},
		"1GiB/day,7kb/job":    {Job: 7000, User: 1 << 30, Window: 24 * time.Hour},
		"1B/job,1000TB/month": {Job: 1, User: 1e15, Window: 30 * 24 * time.Hour},
	} {
		want.Text = text
		if got, err := ParseRelease(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseReleaseNamesTheColumn(t *testing.T) {
	for text, column := range map[string]int{
		"":                          1,
		"200MB":                     1,
		"200MB/job":                 10,
		"1GB/week":                  9,
		"200MB/job,":                11,
		"200MB/job,1GB/year":        15,
		"200MB/job,1XB/week":        12,
		"200MB/job,0B/week":         11,
		"200MB/job,-1B/week":        11,
		"200MB/job,1.5GB/week":      12,
		"200MB/job,1GB/day,1GB/job": 23,
		"1GB/day,1GB/week,1MB/job":  13,
		"200MB/job,99999TB/week":    11,
		"9223372036854775808B/job":  1,
	} {
		_, err := ParseRelease(text)
		var at *ReleaseError
		if !errors.As(err, &at) || at.Column != column {
			t.Errorf("%q: %v, want column %d", text, err, column)
		}
	}
}

func FuzzParseRelease(f *testing.F) {
	f.Add("200MB/job,1GB/week")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRelease(text)
		if err == nil && (r.Job < 1 || r.User < 1 || r.Job > MaxBytes || r.User > MaxBytes || r.Window < time.Hour) {
			t.Errorf("%q: %+v", text, r)
		}
		var at *ReleaseError
		if err != nil && (!errors.As(err, &at) || at.Column < 1 || at.Column > len(text)+1) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
