package plans

import (
	"testing"

	"petstore.example/internal/test/assert"
)

// some is a month with an overage as staff write it.
func some(included int64, overage string) Month {
	o, err := ParseOverage(overage)
	if err != nil {
		panic(err)
	}
	return Month{Kind: SomeMonth, Included: included, Overage: o}
}

func TestMonthCap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		month   Month
		limit   int64
		limited bool
		text    string
	}{
		{Month{}, 0, false, "none"},
		{Month{Kind: NoMonth}, 0, false, "none"},
		{some(1000, "none"), 1000, true, "none"},
		{some(1000, "500"), 1500, true, "500"},
		{some(999, "20%"), 1198, true, "20%"}, // 199.8
		{some(maxMonth, "100000%"), maxMonth + 1000*maxMonth, true, "100000%"},
		{some(1000, "unlimited"), 0, false, "unlimited"},
	} {
		limit, limited := test.month.Cap()
		assert.Equal(t, limit, test.limit)
		assert.Equal(t, limited, test.limited)
		assert.Equal(t, test.month.Overage.String(), test.text)
		assert.NoError(t, test.month.Validate())
	}
}

func TestMonthValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		month Month
		want  string
	}{
		{Month{Overage: Overage{OverageShare, 20}}, "overage 20% needs requests per month"},
		{some(-1, "none"), "requests per month must be from 0 to 1000000000000, not -1"},
		{some(maxMonth+1, "none"), "requests per month must be from 0 to 1000000000000, not 1000000000001"},
		{some(0, "none"), "0 requests per month need an overage that admits some"},
		{some(0, "20%"), "0 requests per month need an overage that admits some"},
		{some(10, "1000000000001"), "overage must be from 1 to 1000000000000 requests, not 1000000000001"},
		{some(10, "100001%"), "overage must be from 1% to 100000%, not 100001%"},
	} {
		assert.Equal(t, test.month.Validate().Error(), test.want)
	}
	for _, good := range []Month{some(0, "1"), some(0, "unlimited")} {
		assert.NoError(t, good.Validate())
	}
	q := Quota{PerMinute: 60, PerDay: 1001, Month: some(1000, "none")}
	assert.Equal(t, q.ValidateDay().Error(),
		"requests per day (1001) must not exceed the month's included requests and overage (1000)")
	q.Month = some(1000, "unlimited")
	assert.NoError(t, q.ValidateDay())
}

func TestParseOverage(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "0", "-1", "0%", "20 %", "1.5%", "20%%", "None", "lots", "9223372036854775808"} {
		_, err := ParseOverage(bad)
		assert.True(t, err != nil, bad)
	}
}

// A change keeps what it does not name.
func TestMonthOver(t *testing.T) {
	t.Parallel()
	before := some(1000, "20%")
	assert.Equal(t, Month{}.Over(before), before)
	assert.Equal(t, Month{Kind: SomeMonth, Included: 5}.Over(before), some(5, "20%"))
	assert.Equal(t, Month{Overage: Overage{Kind: NoOverage}}.Over(before).InForce(),
		Month{Kind: SomeMonth, Included: 1000})
	assert.Equal(t, Month{Kind: NoMonth}.Over(before), Month{Kind: NoMonth})
	assert.Equal(t, Month{Kind: NoMonth}.InForce(), Month{})
	assert.Equal(t, Month{Kind: SomeMonth, Included: 5}.Over(Month{Kind: NoMonth}), some(5, "none"))
	assert.Equal(t, (&Quota{Month: before}).Agreed().Month, before)
	assert.Equal(t, new(Quota).Agreed().Month, Month{Kind: NoMonth})
}
