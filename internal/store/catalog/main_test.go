package catalog_test

import (
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.Suite{M: m}) }
