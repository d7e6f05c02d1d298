package redisbackend

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"petstore.example/internal/limits/distributed"
)

const (
	numberSize = 8
	// nameSize is the size of a key's name in a state.
	nameSize = 16
	// requestSize is the size of a request as take.lua reads it, stateSize the size of a state as
	// it returns it. Both exclude the fields of a key.
	requestSize = 7 * numberSize
	stateSize   = 10 * numberSize
)

// packTake returns the keys and the arguments of take.lua.
func packTake(term int64, over []distributed.WriteIntent, requests []distributed.Request) (keys []string, args []any) {
	keys = make([]string, 0, len(requests)+len(over))
	claims, writes := appendPacked(make([]byte, 0, numberSize+requestSize*len(requests)), term), false
	for i := range requests {
		r := &requests[i]
		keys = append(keys, tenantKey(r.Claim.TenantID))
		var flags int64
		if r.SameTenant {
			flags = 1
		}
		if r.Writes > 0 {
			flags += 2
			writes = true
		}
		if r.Month != 0 {
			flags += 4
		}
		q := &r.Claim.Quota
		claims = appendPacked(claims, r.Minute, r.Day, q.PerMinute, q.PerDay, r.Claim.KeyPerMinute, r.Count, flags)
		if r.Month != 0 {
			claims = appendPacked(claims, r.Month, r.Claim.MonthLimit())
		}
		if r.Claim.KeyPerMinute > 0 {
			claims = appendName(claims, r.Claim.KeyID)
		}
	}
	if !writes && len(over) == 0 {
		return keys, []any{claims}
	}
	versions := make([]byte, 0, numberSize*len(over))
	for _, w := range over {
		keys = append(keys, tenantKey(w.TenantID))
		versions = appendPacked(versions, w.Version)
	}
	return keys, []any{claims, versions, intentSeconds}
}

// unpackTake sets the replies from take.lua's reply, which is the state before each request.
func unpackTake(reply []byte, term int64, requests []distributed.Request) error {
	var later int64
	for i := range requests {
		r := &requests[i]
		size := stateSize
		if r.Claim.KeyPerMinute > 0 {
			size += numberSize
		}
		if r.Writes > 0 {
			size += numberSize
		}
		if len(reply) < size {
			return errUnexpected
		}
		r.Reply = replyTo(r, term, reply[:size])
		later = max(later, number(reply, 0))
		reply = reply[size:]
	}
	if len(reply) > 0 {
		return errUnexpected
	}
	if later > term {
		return distributed.LaterTermError{Term: later}
	}
	return nil
}

// replyTo decides the request as take.lua did, from the state that take.lua returned.
func replyTo(r *distributed.Request, term int64, before []byte) distributed.Reply {
	if number(before, 0) != term {
		return distributed.Reply{Status: distributed.Uninitialized}
	}
	p := distributed.Reply{Version: number(before, 1), InMinute: number(before, 2), InDay: number(before, 4)}
	p.Used.Minute, p.Used.Day = number(before, 3), number(before, 5)
	p.InMonth, p.Used.Month = number(before, 6), number(before, 7)
	if r.Claim.KeyPerMinute > 0 {
		p.Used.Key = number(before, 10)
	}
	if p.InMinute < r.Minute {
		p.InMinute, p.Used.Minute, p.Used.Key = r.Minute, 0, 0
	}
	if p.InDay < r.Day {
		p.InDay, p.Used.Day = r.Day, 0
	}
	if p.InMonth < r.Month {
		p.InMonth, p.Used.Month = r.Month, 0
	}
	if p.Used.Key < 0 {
		if number(before, 8) == p.InMinute {
			return distributed.Reply{Status: distributed.KeyUninitialized}
		}
		p.Used.Key = 0
	}
	if r.Writes > 0 {
		p.Intent = number(before, len(before)/numberSize-1)
	}
	return p
}

// number returns the i-th of packed numbers.
func number(packed []byte, i int) int64 {
	return int64(math.Float64frombits(binary.LittleEndian.Uint64(packed[numberSize*i:])))
}

// pack packs numbers as the scripts read them. Numbers beyond 2^53 are rounded; no real limit is
// that high.
func pack(numbers ...int64) []byte {
	return appendPacked(make([]byte, 0, numberSize*len(numbers)), numbers...)
}

func appendPacked(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(n)))
	}
	return b
}

// appendName appends a key's name: the 16 letters and digits after "key_" in its ID.
func appendName(b []byte, keyID string) []byte {
	var name [nameSize]byte
	copy(name[:], strings.TrimPrefix(keyID, "key_"))
	return append(b, name[:]...)
}

// layout is the number of the form in which the scripts keep counters in Redis. It is part of every
// name and of the fingerprint. So programs of two layouts may use the same Redis at the same time:
// they share nothing in it, and never agree that it decides. TestLayout tells when to raise it.
const layout = "4"

// refundsChannel is where refund.lua publishes the tenant of each refund.
const refundsChannel = "pst:" + layout + ":refunds"

// tenantKey names a tenant's state. A cluster chooses the node by the part in braces.
func tenantKey(tenantID int64) string {
	return "pst:" + layout + ":{" + strconv.FormatInt(tenantID, 10) + "}"
}

// pingKey names a key that a ping writes.
func pingKey(i int) string { return "pst:" + layout + ":{ping" + strconv.Itoa(i) + "}" }
