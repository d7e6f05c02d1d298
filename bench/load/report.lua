-- Prints what wrk counted as one line of JSON. Latencies and the duration are in microseconds.
done = function(summary, latency)
  io.write(string.format(
    'PETSTORE-BENCH {"requests":%d,"micros":%d,"bytes":%d,"p50_us":%f,"p99_us":%f,"p999_us":%f,' ..
    '"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    summary.errors.connect, summary.errors.read, summary.errors.write, summary.errors.timeout, summary.errors.status))
end
