package migrate_test

import (
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}})
}
