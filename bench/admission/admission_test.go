package admission_test

import (
	"testing"

	"petstore.example/bench/admission"
)

func BenchmarkAdmit(b *testing.B) { admission.Benchmark(b) }

func TestAllocations(t *testing.T) {
	g, err := admission.NewGate()
	if err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(1000, func() {
		if err := g.Admit(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if got > admission.MaxAllocations {
		t.Errorf("%v allocations a request, want at most %d", got, admission.MaxAllocations)
	}
}
