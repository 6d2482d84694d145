package reason

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Reason is why something was decided. The set of types is closed; nil is no reason.
// A new kind of reason is a struct of this package that embeds value, or a Plain.
type Reason interface{ reason() }

// value makes a struct a Reason. Its fields are the arguments; their API names are in
// snake_case: GPUs is gpus, MaxTime is max_time. Times are absolute, durations in seconds.
type value struct{}

func (value) reason() {}

// Plain is a reason without arguments; its value is its code.
type Plain string

func (Plain) reason() {}

// Code names a kind of reason. It is stable, and part of the API.
type Code string

// All are reasons that hold at once, the most important first.
type All struct {
	value
	Of []Reason
}

// Join returns the reasons that are not nil: nil, the only one, or an All.
//
// The order of the arguments is kept, and an All among them is taken apart, so that Join puts no All
// into another. The arguments are not changed.
func Join(all ...Reason) Reason {
	var of []Reason
	for _, r := range all {
		switch r := r.(type) {
		case nil:
		case All:
			of = append(of, r.Of...)
		default:
			of = append(of, r)
		}
	}
	switch len(of) {
	case 0:
		return nil
	case 1:
		return of[0]
	}
	return All{Of: of}
}

// CodeOf returns the reason's code; "" for nil.
// It is the type's name in snake_case: WaitsReturn has the code "waits_return".
func CodeOf(r Reason) Code {
	switch r := r.(type) {
	case nil:
		return ""
	case Plain:
		return Code(r)
	}
	return Code(snake(reflect.TypeOf(r).Name()))
}

// Cause returns the Because of the reason; nil if it has none. For an All it is the cause of
// the first together with the others.
//
//	Keeps{Because: AtMaximum}                   AtMaximum
//	All{Keeps{Because: AtMaximum}, CanStartAt}  All{AtMaximum, CanStartAt}
//	Pinned                                      nil
func Cause(r Reason) Reason {
	if all, ok := r.(All); ok && len(all.Of) > 0 {
		first := Cause(all.Of[0])
		if first == nil {
			return nil
		}
		return Join(append([]Reason{first}, all.Of[1:]...)...)
	}
	because, _ := because(r)
	if !because.IsValid() || because.IsNil() {
		return nil
	}
	return because.Interface().(Reason)
}

// Recause returns the reason with another cause. A reason that has no cause is returned
// unchanged.
// It changes a copy. A cause of nil removes the old one.
func Recause(r, cause Reason) Reason {
	if all, ok := r.(All); ok && len(all.Of) > 0 {
		return Join(append([]Reason{Recause(all.Of[0], cause)}, all.Of[1:]...)...)
	}
	old, of := because(r)
	if !old.IsValid() {
		return r
	}
	changed := reflect.New(of.Type()).Elem()
	changed.Set(of)
	changed.FieldByName("Because").Set(reflect.ValueOf(&cause).Elem())
	return changed.Interface().(Reason)
}

// because returns the field of the cause, and the struct that contains it.
// The field is not valid if the reason has none.
func because(r Reason) (field, of reflect.Value) {
	of = reflect.ValueOf(r)
	if of.Kind() != reflect.Struct {
		return reflect.Value{}, of
	}
	return of.FieldByName("Because"), of
}

// Has reports whether the reason, or any reason within it, has the code.
// It looks into causes and all other reasons within, at any depth.
func Has(r Reason, code Code) bool {
	return r != nil && (CodeOf(r) == code || slices.ContainsFunc(parts(r), func(p Reason) bool { return Has(p, code) }))
}

// parts returns the reasons that a reason contains.
// They are in the order of the fields; those within them are not included.
func parts(r Reason) (out []Reason) {
	v := reflect.ValueOf(r)
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		switch f := v.Field(i); f.Type() {
		case reasonType:
			if !f.IsNil() {
				out = append(out, f.Interface().(Reason))
			}
		case reasonsType:
			out = append(out, f.Interface().([]Reason)...)
		}
	}
	return out
}

var (
	reasonType  = reflect.TypeFor[Reason]()
	reasonsType = reflect.TypeFor[[]Reason]()
)

// String prints the reason for tests and developers: its code, and the arguments that are not
// zero, "keeps gpus=4 because=(at_maximum)".
// No program may parse it.
func String(r Reason) string {
	if r == nil {
		return "-"
	}
	var b strings.Builder
	b.WriteString(string(CodeOf(r)))
	v := reflect.ValueOf(r)
	if v.Kind() != reflect.Struct {
		return b.String()
	}
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.IsZero() || !v.Type().Field(i).IsExported() {
			continue
		}
		switch of := f.Interface().(type) {
		case Reason:
			fmt.Fprintf(&b, " %s=(%s)", snake(name), String(of))
		case []Reason:
			for _, p := range of {
				fmt.Fprintf(&b, " (%s)", String(p))
			}
		default:
			fmt.Fprintf(&b, " %s=%v", snake(name), text(f))
		}
	}
	return b.String()
}

// ArgumentName returns the API name of an argument by its name in Go: GPUs is gpus.
func ArgumentName(field string) string { return snake(field) }

// abbreviations are written as words, so that each is one word of a code.
var abbreviations = strings.NewReplacer("GPUs", "Gpus", "GPU", "Gpu", "QOS", "Qos", "MIG", "Mig", "CPUs", "Cpus")

// snake returns a Go name in lower case with underscores: "GPUs" is "gpus", "MaxTime" is
// "max_time".
// An abbreviation that is not listed becomes one word a letter: API would be "a_p_i".
func snake(name string) string {
	name = abbreviations.Replace(name)
	var b strings.Builder
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
