package client_test

import (
	"fmt"
	"reflect"
)

// diff returns both values if they differ. The module has no dependencies, not even of its tests.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("-%+v\n+%+v", want, got)
}
