// Package reasontest makes reasons with every argument set, for tests.
package reasontest

import (
	"reflect"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Now is the time at which Filled's reasons should be read: their times are near it.
var Now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// Filled returns a reason of the kind with a different value in each argument of a type.
// Values follow from the type, the name and the order of the arguments, so each call returns an
// equal reason.
// A Plain is returned as it is.
func Filled(kind reason.Reason) reason.Reason {
	v := reflect.New(reflect.TypeOf(kind)).Elem()
	v.Set(reflect.ValueOf(kind))
	if v.Kind() != reflect.Struct {
		return kind
	}
	fill(v)
	return v.Interface().(reason.Reason)
}

// fill sets the fields of a reason: numbers count up from 2, so that two of one reason differ, and
// durations are that many minutes in seconds. An argument of a type that is not listed here, and is
// no whole number, panics: a new type of argument needs a case.
func fill(v reflect.Value) {
	numbers, times, texts := 1, 0, 0
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch f.Interface().(type) {
		case nil, reason.Reason:
			f.Set(reflect.ValueOf(reason.NoneIdle))
		case []reason.Reason:
			f.Set(reflect.ValueOf([]reason.Reason{reason.AtMaximum, reason.JobWaits{Job: 9, GPUs: 1}}))
		case []reason.Use:
			f.Set(reflect.ValueOf([]reason.Use{{Job: 9, User: "ada", Has: "2"}}))
		case nodes.Placement:
			texts++
			f.Set(reflect.ValueOf(nodes.Placement{{Node: "gpu1", GPUs: texts}, {Node: "gpu2", GPUs: 1}}))
		case []int:
			f.Set(reflect.ValueOf([]int{1, 2}))
		case []string:
			f.Set(reflect.ValueOf([]string{"a100", "h100"}))
		case time.Time:
			times++
			f.Set(reflect.ValueOf(Now.Add(time.Duration(times) * time.Hour)))
		case string:
			f.SetString(word(name))
		case bool:
			f.SetBool(true)
		case float64:
			numbers++
			f.SetFloat(float64(numbers) * 60)
		default: // whole numbers
			numbers++
			f.SetInt(int64(numbers))
		}
	}
}

// word returns a plausible text for an argument of this name.
func word(name string) string {
	for key, text := range map[string]string{
		"Node": "gpu1", "Nodes": "gpu[1-2]", "Open": "gpu[3-4]", "Mixed": "gpu5", "Pool": "lab", "Partition": "gpu", "Policy": "fcfs", "Type": "a100",
		"Unseen": "a100", "Reservation": "update", "Reason": "Resources", "Name": "GrpTRES=gres/gpu=8 of account phys", "State": "FAILED", "Phase": "completing",
		"Checkpoint": "00000007", "Resumed": "00000006", "Kind": "resize", "Outcome": "done", "On": "job 12 (afterok)", "Constraint": "fast", "Excluded": "gpu9",
		"Means": "licenses that it asks for are in use", "Advice": "scontrol show licenses", "JSON": `{"code":"of_2031"}`,
	} {
		if name == key {
			return text
		}
	}
	return "the text of " + name
}
