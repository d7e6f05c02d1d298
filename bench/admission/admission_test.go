package admission_test

import (
	"testing"

	"petstore.example/bench/admission"
	"petstore.example/internal/limits"
	_ "petstore.example/internal/test/sandbox"
)

func gate(tb testing.TB) *admission.Gate {
	tb.Helper()
	g, err := admission.NewGate(limits.NewMemory())
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func BenchmarkAdmit(b *testing.B) {
	g := gate(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Admit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAllocations(t *testing.T) {
	g := gate(t)
	got := testing.AllocsPerRun(1000, func() {
		if err := g.Admit(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if got > admission.MaxAllocations {
		t.Errorf("%v allocations per request, want at most %d", got, admission.MaxAllocations)
	}
}
