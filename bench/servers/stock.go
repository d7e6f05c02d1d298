package servers

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"

	"petstore.example/bench/must"
	"petstore.example/internal/catalog"
)

// StockOptions configure the stock server.
type StockOptions struct {
	Database string
	Redis    string
}

// stock is a GET /v1/pets built from well-known parts. A prepared SELECT finds the key, two calls
// of ulule/limiter count in Redis, and sqlx reads the rows.
type stock struct {
	callerByDigest, petsOfTenant *sqlx.Stmt
	counters                     limiter.Store
}

const (
	stockCallerQuery = `
		select k.tenant_id,
		       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day
		from api_keys k
		cross join lateral (
		  select plan, per_minute, per_day from tenant_plans t
		  where t.tenant_id = k.tenant_id and t.valid_from <= now() order by t.valid_from desc limit 1
		) a
		cross join lateral (
		  select per_minute, per_day from plan_versions p
		  where p.plan = a.plan and p.valid_from <= now() order by p.valid_from desc limit 1
		) v
		where k.digest = $1 and k.revoked_at is null`
	stockPetsQuery = `
		select id, name, category_id, status from pets
		where tenant_id = $1 and id > $2 order by id limit $3`
)

func stockHandler(config []byte) http.Handler {
	var o StockOptions
	must.Do(json.Unmarshal(config, &o))
	client := redis.NewClient(must.Get(redis.ParseURL(o.Redis)))
	db := sqlx.NewDb(openPool(o.Database), "postgres")
	s := &stock{
		counters:       must.Get(redisstore.NewStoreWithOptions(client, limiter.StoreOptions{Prefix: "stock"})),
		callerByDigest: must.Get(db.Preparex(stockCallerQuery)),
		petsOfTenant:   must.Get(db.Preparex(stockPetsQuery)),
	}
	engine := newEngine()
	engine.GET("/v1/pets", s.list)
	return engine
}

func (s *stock) list(c *gin.Context) {
	ctx := c.Request.Context()
	var caller struct {
		TenantID  int64 `db:"tenant_id"`
		PerMinute int64 `db:"per_minute"`
		PerDay    int64 `db:"per_day"`
	}
	digest := sha256.Sum256([]byte(keyOf(c)))
	if err := s.callerByDigest.GetContext(ctx, &caller, digest[:]); err != nil {
		c.JSON(http.StatusUnauthorized, gin.H{"error": err.Error()})
		return
	}
	tenant := strconv.FormatInt(caller.TenantID, 10)
	if !s.admits(c, "d"+tenant, 24*time.Hour, caller.PerDay) ||
		!s.admits(c, "m"+tenant, time.Minute, caller.PerMinute) {
		c.JSON(http.StatusTooManyRequests, gin.H{"error": "too many requests"})
		return
	}
	limit, err := strconv.Atoi(c.DefaultQuery("limit", "20"))
	if err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	var pets []catalog.Pet
	if err := s.petsOfTenant.SelectContext(ctx, &pets, caller.TenantID, 0, limit); err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	c.JSON(http.StatusOK, pets)
}

// admits counts the request in a window, and reports the window in the usual headers.
func (s *stock) admits(c *gin.Context, window string, period time.Duration, limit int64) bool {
	state, err := s.counters.Get(c.Request.Context(), window, limiter.Rate{Period: period, Limit: limit})
	c.Header("X-RateLimit-Limit", strconv.FormatInt(state.Limit, 10))
	c.Header("X-RateLimit-Remaining", strconv.FormatInt(state.Remaining, 10))
	c.Header("X-RateLimit-Reset", strconv.FormatInt(state.Reset, 10))
	return err == nil && !state.Reached
}
