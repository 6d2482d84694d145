package reason

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Value is a reason in JSON: an object of its code and its arguments, {"code": "keeps", "gpus":
// 4, "because": {"code": "at_maximum"}}; null if it is nil.
type Value struct{ Reason }

// MarshalJSON writes it, the code first.
// Arguments that are zero are left out, and read as zero. The others are in the order of the fields,
// so equal reasons give equal text.
func (v Value) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, Normal(v.Reason)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown code, as from a newer sluiced, is kept
// as an Unknown; an unknown argument is dropped.
// A reason within this one is read in the same way, so an unknown cause does not hide what it causes.
func (v *Value) UnmarshalJSON(data []byte) error {
	if code, ok := bareCode(data); ok { // most reasons of a long queue
		if known, is := kinds()[code].(Plain); is {
			v.Reason = known
			return nil
		}
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("a reason: %w", err)
	}
	r, err := decode(raw, data)
	v.Reason = r
	return err
}

// bareCode is the code of an object that MarshalJSON wrote and that has nothing else in it.
// It saves the map that a reader of thousands of jobs would make for each.
func bareCode(data []byte) (Code, bool) {
	rest, begins := bytes.CutPrefix(data, []byte(`{"code":"`))
	code, ends := bytes.CutSuffix(rest, []byte(`"}`))
	return Code(code), begins && ends && !bytes.ContainsAny(code, `"\\`)
}

// Encode returns the reason as JSON for a store; "" for nil.
// What Decode makes of it is Normal(r).
func Encode(r Reason) string {
	if r == nil {
		return ""
	}
	text, err := json.Marshal(Value{r})
	if err != nil { // impossible: the result of Normal can be written
		return ""
	}
	return string(text)
}

// Decode reads what Encode wrote. What it cannot read becomes a Text, as an older sluice wrote.
// It never fails: a damaged or foreign text is still shown to users.
func Decode(text string) Reason {
	if text == "" {
		return nil
	}
	var v Value
	if err := v.UnmarshalJSON([]byte(text)); err != nil {
		return Text{Text: text}
	}
	return v.Reason
}

// Normal returns the reason as Decode would return it: times in UTC, text in valid UTF-8, and
// without infinite or NaN numbers, which JSON does not have.
//
// A store in memory MUST keep reasons so, to answer as one on disk does. It does not change r.
func Normal(r Reason) Reason {
	v := reflect.ValueOf(r)
	if v.Kind() != reflect.Struct {
		return r
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range out.NumField() {
		switch f := out.Field(i); f.Type() {
		case reasonType:
			if !f.IsNil() {
				f.Set(reflect.ValueOf(Normal(f.Interface().(Reason))))
			}
		case reasonsType:
			of := make([]Reason, f.Len())
			for k := range of {
				of[k] = Normal(f.Index(k).Interface().(Reason))
			}
			if !f.IsNil() {
				f.Set(reflect.ValueOf(of))
			}
		case floatType:
			if x := f.Float(); math.IsInf(x, 0) || math.IsNaN(x) {
				f.SetFloat(0)
			}
		case stringType:
			f.SetString(strings.ToValidUTF8(f.String(), "\ufffd"))
		case timeType:
			f.Set(reflect.ValueOf(f.Interface().(time.Time).UTC().Round(0)))
		}
	}
	return out.Interface().(Reason)
}

var (
	floatType  = reflect.TypeFor[float64]()
	timeType   = reflect.TypeFor[time.Time]()
	stringType = reflect.TypeFor[string]()
)

// Unknown is a reason that this version does not know.
type Unknown struct {
	value
	JSON string // unchanged
}

// write writes a reason: its code, and the arguments that are not zero.
// An Unknown is written as it was read.
func write(b *bytes.Buffer, r Reason) error {
	switch r := r.(type) {
	case nil:
		b.WriteString("null")
		return nil
	case Unknown:
		b.WriteString(r.JSON)
		return nil
	}
	fmt.Fprintf(b, "{\"code\":%q", CodeOf(r))
	v := reflect.ValueOf(r)
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		f, field := v.Field(i), v.Type().Field(i)
		if !field.IsExported() || f.IsZero() {
			continue
		}
		fmt.Fprintf(b, ",%q:", snake(field.Name))
		if err := writeArgument(b, f.Interface()); err != nil {
			return fmt.Errorf("the argument %s of a reason %s: %w", snake(field.Name), CodeOf(r), err)
		}
	}
	b.WriteByte('}')
	return nil
}

// writeArgument writes a reason within another one as write does, and all else as encoding/json.
func writeArgument(b *bytes.Buffer, arg any) error {
	switch arg := arg.(type) {
	case Reason:
		return write(b, arg)
	case []Reason:
		b.WriteByte('[')
		for i, r := range arg {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, r); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	data, err := json.Marshal(arg)
	b.Write(data)
	return err
}

// decode returns nil for null. data is the text of raw, for an Unknown and for errors.
func decode(raw map[string]json.RawMessage, data []byte) (Reason, error) {
	if raw == nil {
		return nil, nil
	}
	var code Code
	if err := json.Unmarshal(raw["code"], &code); err != nil {
		return nil, fmt.Errorf("a reason without a code: %.80q", data)
	}
	known, ok := kinds()[code]
	if _, is := known.(Unknown); is || !ok {
		return Unknown{JSON: string(data)}, nil
	}
	if plain, is := known.(Plain); is {
		return plain, nil
	}
	v := reflect.New(reflect.TypeOf(known)).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		arg, there := raw[snake(field.Name)]
		if !there || !field.IsExported() {
			continue
		}
		if err := argument(v.Field(i), arg); err != nil {
			return nil, fmt.Errorf("the argument %s of a reason %s: %w", snake(field.Name), code, err)
		}
	}
	return v.Interface().(Reason), nil
}

// argument reads one argument into its field.
// In a list of reasons null is left out.
func argument(f reflect.Value, data []byte) error {
	switch f.Type() {
	case reasonType:
		var v Value
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		f.Set(reflect.ValueOf(&v.Reason).Elem())
		return nil
	case reasonsType:
		var list []Value
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		of := make([]Reason, 0, len(list))
		for _, v := range list {
			if v.Reason != nil {
				of = append(of, v.Reason)
			}
		}
		f.Set(reflect.ValueOf(of))
		return nil
	}
	return json.Unmarshal(data, f.Addr().Interface())
}

// text returns an argument for printing.
func text(f reflect.Value) any {
	switch of := f.Interface().(type) {
	case time.Time:
		return of.UTC().Format("2006-01-02T15:04:05Z")
	case float64:
		return fmt.Sprintf("%.4g", of)
	case string:
		return fmt.Sprintf("%q", of)
	}
	return f.Interface()
}

// kinds are all reasons by their code. The map is made on first use: every program that uses
// reasons links it, and most read none.
var kinds = sync.OnceValue(byCode)

// byCode returns for each code the reason without arguments, which says the type.
func byCode() map[Code]Reason {
	out := map[Code]Reason{}
	for _, r := range all {
		out[CodeOf(r)] = r
	}
	for _, p := range plain {
		out[Code(p)] = p
	}
	return out
}

// Kinds returns every reason, without arguments, in the order in which the API documents them.
// The slice is the caller's.
func Kinds() []Reason {
	out := slices.Clone(all)
	for _, p := range plain {
		out = append(out, p)
	}
	return out
}
