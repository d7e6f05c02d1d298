package usage_test

import (
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestRefusalsAreToldOnce: the store is told of a window that refuses until it knows, also at stop,
// and then no more, but again under another assignment.
func TestRefusalsAreToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{tellFrom: 3}
		m, stop := run(t, s)
		refusal := func(window string, in time.Duration) usage.Refusal {
			return usage.Refusal{TenantID: 7, Window: window, Limit: 10, Reset: time.Now().Add(in).Unix()}
		}
		day := refusal("day", time.Hour)
		for range 5 {
			m.UsedUp(day)
			m.UsedUp(day)
			time.Sleep(usage.FlushInterval)
		}
		assert.DeepEqual(t, s.told, []usage.Refusal{day, day, day})
		again := day
		again.Assignment++
		m.UsedUp(again)
		time.Sleep(usage.FlushInterval)
		synctest.Wait()
		assert.DeepEqual(t, s.told[3:], []usage.Refusal{again})
		month := refusal("month", time.Hour)
		m.UsedUp(month)
		_, err := stop()
		assert.NoError(t, err)
		assert.DeepEqual(t, s.told[4:], []usage.Refusal{month})
	})
}
