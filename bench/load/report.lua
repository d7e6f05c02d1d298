-- Prints what wrk counted as one line of JSON. Latencies and the duration are in microseconds.
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'PETSTORE-BENCH {"requests":%d,"micros":%d,"bytes":%d,"p50_us":%f,"p99_us":%f,"failed":%d,"timed_out":%d,"refused":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write, e.timeout, e.status))
end
