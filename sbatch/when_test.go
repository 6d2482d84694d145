package sbatch

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without a time zone database
)

func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 22, 16, 30, 0, 5, time.FixedZone("there", 3600))
	at := func(day, hour, minute, second int) time.Time {
		return time.Date(2026, 11, day, hour, minute, second, 0, now.Location())
	}
	for text, want := range map[string]time.Time{
		"now+90": at(22, 16, 31, 30), "now+1hour": at(22, 17, 30, 0), "now+8hours": at(23, 0, 30, 0), "now+2minutes": at(22, 16, 32, 0), "now+1weeks": at(29, 16, 30, 0),
		"18:00": at(22, 18, 0, 0), "16:30": at(23, 16, 30, 0), "16:30:01": at(22, 16, 30, 1), "09:15": at(23, 9, 15, 0),
		"2026-11-23T18:00": at(23, 18, 0, 0), "2026-11-23": at(23, 0, 0, 0), "2026-11-22T16:30:01": at(22, 16, 30, 1),
	} {
		w, err := parseWhen(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := w.at(now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for unit, want := range map[string]time.Duration{"": time.Second, "second": time.Second, "seconds": time.Second, "minute": time.Minute, "minutes": time.Minute,
		"hour": time.Hour, "hours": time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "week": 168 * time.Hour, "weeks": 168 * time.Hour} {
		if w, err := parseWhen("now+2" + unit); err != nil || w.after != 2*want {
			t.Errorf("now+2%s: %v, %v", unit, w.after, err)
		}
	}
	for _, text := range []string{"", "now", "now+", "now+0", "now-1", "now+1fortnight", "now+99999999999", "now+4000weeks", "now+30501weeks", "now+4294967295weeks", "now+213504days", "tomorrow", "25:00", "1118", "2026-13-01", "18", "now+1.5hours", "now+-1"} {
		if w, err := parseWhen(text); err == nil {
			t.Errorf("%q: %+v", text, w)
		}
	}
	for _, text := range []string{"2026-11-22T16:30", "2026-11-22", "1999-01-01", "2090-01-01"} {
		w, err := parseWhen(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got, err := w.at(now); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestWhenClocksAreSet: when clocks are put back or forward a time of day is the next
// time at which they show it.
func TestWhenClocksAreSet(t *testing.T) {
	for _, c := range []struct{ place, now, text, want string }{ // now and want in UTC
		{"Europe/Berlin", "2026-10-24 23:50:00", "02:30", "2026-10-25 00:30:00"}, // 01:50; shown twice, this is the first
		{"Europe/Berlin", "2026-10-25 00:31:00", "02:30", "2026-10-25 01:30:00"}, // the first has passed
		{"Europe/Berlin", "2026-10-25 01:31:00", "02:30", "2026-10-26 01:30:00"}, // both have passed
		{"Europe/Berlin", "2026-10-24 21:00:00", "04:00", "2026-10-25 03:00:00"}, // 5 hours on clocks, 6 to wait
		{"Europe/Berlin", "2026-03-28 23:30:00", "04:00", "2026-03-29 02:00:00"}, // 00:30
		{"Europe/Berlin", "2026-03-28 23:30:00", "02:30", "2026-03-29 01:30:00"}, // never shown: they show 03:30
		{"Europe/Berlin", "2026-03-29 02:00:00", "02:30", "2026-03-30 00:30:00"},
		{"Australia/Lord_Howe", "2026-04-04 14:10:00", "01:45", "2026-04-04 14:45:00"}, // put back by half an hour
		{"Australia/Lord_Howe", "2026-04-04 14:50:00", "01:45", "2026-04-04 15:15:00"},
	} {
		there, err := time.LoadLocation(c.place)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.DateTime, c.now)
		if err != nil {
			t.Fatal(err)
		}
		w, err := parseWhen(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.at(now.In(there)); err != nil || got.UTC().Format(time.DateTime) != c.want {
			t.Errorf("%s, %s: %s is %v, %v, want %s", c.place, c.now, c.text, got.UTC(), err, c.want)
		}
	}
}

func FuzzWhen(f *testing.F) {
	for _, text := range []string{"now+8hours", "18:00", "2026-11-23T18:00", "now+99999999999weeks", "24:00:61"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 22, 16, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		w, err := parseWhen(text)
		if err != nil {
			return
		}
		if at, err := w.at(now); err == nil && (!at.After(now) || at.Sub(now) > maxAhead || at.Nanosecond() != 0) {
			t.Errorf("%q is %v", text, at)
		}
	})
}

// TestDeadlineOfSlurm: on an #SBATCH line --deadline is Slurm's, which a resizable job
// cannot have; elsewhere it is sluice's.
func TestDeadlineOfSlurm(t *testing.T) {
	now := time.Date(2026, 11, 22, 16, 30, 0, 0, time.UTC)
	read := func(script string, args ...string) (Request, error) {
		line, err := ParseCommandLine(append(args, "job.sh"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScript("job.sh", []byte("#!/bin/sh\n"+script+"\ntrue\n"))
		if err != nil {
			return Request{}, err
		}
		r, err := Merge(line, nil, s)
		if err == nil {
			err = r.Date(now)
		}
		return r, err
	}
	for _, script := range []string{"#SBATCH --deadline=now+1day\n#SLUICE --epochs=3", "#SBATCH --deadline=now+1day\n#SLUICE --steps=3 --deadline=18:00"} {
		if _, err := read(script); err == nil || !strings.Contains(err.Error(), "write it on a #SLUICE line") {
			t.Errorf("%s: %v", script, err)
		}
	}
	both, err := read("#SLUICE --steps=3 --deadline=18:00 --deadline-mode=soft")
	if want := time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC); err != nil || !both.Spec.Deadline.Equal(want) || !both.Spec.Soft {
		t.Errorf("%+v, %v", both.Spec, err)
	}
	over, err := read("#SLUICE --steps=3 --deadline=18:00", "--deadline=now+1hour")
	if want := now.Add(time.Hour); err != nil || !over.Spec.Deadline.Equal(want) || len(over.options) != 0 {
		t.Errorf("%+v, %v, %v", over.Spec, over.options, err)
	}
	for script, want := range map[string]string{
		"#SLUICE --deadline=18:00":                              "the job's end cannot be predicted",
		"#SLUICE --steps=3 --deadline-mode=soft":                "there is no --deadline",
		"#SLUICE --steps=3 --deadline=18:00 --deadline-mode=so": "want hard",
		"#SLUICE --steps=3 --deadline=2026-11-22":               "that is in the past",
		"#SLUICE --steps=3 --deadline=later":                    "want a time such as",
	} {
		if _, err := read(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// TestMeasuredWithoutADeadline: a measuring job has no deadline, and its comment can be
// read.
func TestMeasuredWithoutADeadline(t *testing.T) {
	now := time.Date(2026, 11, 22, 16, 30, 0, 0, time.UTC)
	for _, header := range []string{"--deadline=18:00", "--deadline=18:00 --deadline-mode=soft"} {
		line, err := ParseCommandLine([]string{"job.sh"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScript("job.sh", []byte("#!/bin/sh\n#SLUICE --steps=3 "+header+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Merge(line, nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Date(now); err != nil {
			t.Fatal(err)
		}
		spec := r.Fixed(2, nil, nil).Spec
		spec.Token = strings.Repeat("0", 32)
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", header, err)
		}
	}
}
