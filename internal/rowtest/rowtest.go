// Package rowtest checks that every field of an answer is filled from its row: none is forgotten where fields are
// copied one by one.
package rowtest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Filled is a T without a zero field.
func Filled[T any](t *testing.T) (v T) {
	t.Helper()

	fill(t, reflect.ValueOf(&v).Elem())
	return v
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()

	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		require.Fail(t, "cannot fill", v.Type().String())
	}
}

// Whole checks that neither v nor a struct in it has a zero field.
func Whole(t *testing.T, v any) {
	t.Helper()

	check(t, reflect.ValueOf(v), reflect.TypeOf(v).String())
}

func check(t *testing.T, v reflect.Value, path string) {
	t.Helper()

	require.False(t, v.IsZero(), path)
	switch v.Kind() {
	case reflect.Pointer:
		check(t, v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				check(t, v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Slice:
		require.NotZero(t, v.Len(), path)
		check(t, v.Index(0), path)
	}
}
