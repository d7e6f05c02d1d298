package pgconn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
)

// TestSearch: a minute without a session that takes writes costs a pool sixty at most, however many
// calls want one. As soon as one takes writes, all older ones are given up, and others are opened.
func TestSearch(t *testing.T) {
	t.Parallel()
	const minute = 60 * time.Second
	for name, refused := range map[string]bool{"sessions that only read": false, "the URL wants none of them": true} {
		synctest.Test(t, func(t *testing.T) {
			began, one, opened := time.Now(), &host{}, 0
			o := newOpener(func(context.Context) (*session, error) {
				s := &session{host: one, left: one.left.Load(), socket: &deadlineConn{}, driverConn: broken{}}
				if time.Since(began) < minute {
					opened++
					s.readOnly = readOnlyError("standby")
					if refused {
						return nil, s.readOnly
					}
				}
				return s, nil
			})
			o.leave, o.drop = func() { one.left.Add(1) }, func() {}
			defer o.close()
			for range 16 {
				go func() {
					for time.Since(began) < minute+time.Second {
						ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
						s, err := o.get(ctx)
						if cancel(); err == nil && s.readOnly != nil {
							time.Sleep(time.Second) // by the bubble's clock
							o.readOnly(o.found.Load(), nil, false)
							_ = s.Close()
						} else {
							time.Sleep(10 * time.Millisecond)
						}
					}
				}()
			}
			time.Sleep(minute / 2)
			old := &session{host: one, left: one.left.Load()}
			time.Sleep(minute/2 + 2*time.Second)
			synctest.Wait()
			t.Logf("%s: %d sessions in a minute", name, opened)
			assert.True(t, opened > 50 && opened <= 60, name, "opened", opened)
			assert.True(t, o.underway() == nil && !old.ofNow(), name, "the search goes on, or an older session stays")
			o.readOnly(o.found.Load()-1, nil, false)
			assert.True(t, o.underway() == nil, name, "a call that began before has begun another search")
		})
	}
}

// broken is a connection that has ended.
type broken struct{ closable }

func (broken) IsValid() bool { return false }
