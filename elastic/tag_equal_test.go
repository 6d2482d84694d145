package elastic_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestTagsDifferByEveryField: a field that is added to a tag or a spec is compared too.
func TestTagsDifferByEveryField(t *testing.T) {
	differ := func(name string, change func(*elastic.Tag) reflect.Value) {
		var a, b elastic.Tag
		v := change(&b)
		switch v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
		default:
			set(v)
		}
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("tags that differ by %s are equal", name)
		}
		if !b.Equal(b) {
			t.Errorf("a tag with %s is not equal to itself", name)
		}
	}
	for i := range reflect.TypeFor[elastic.Tag]().NumField() {
		if f := reflect.TypeFor[elastic.Tag]().Field(i); f.Name != "Spec" {
			differ(f.Name, func(t *elastic.Tag) reflect.Value { return reflect.ValueOf(t).Elem().Field(i) })
		}
	}
	for i := range reflect.TypeFor[elastic.Spec]().NumField() {
		differ("Spec."+reflect.TypeFor[elastic.Spec]().Field(i).Name, func(t *elastic.Tag) reflect.Value { return reflect.ValueOf(&t.Spec).Elem().Field(i) })
	}
}

// set gives a value, or its first field, a value other than zero.
func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		set(v.Field(0))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		v.SetInt(1)
	}
}
