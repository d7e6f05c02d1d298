lock table tenants, servers, cluster_term, limit_states in access exclusive mode;
drop function read_cluster, renew_server, lock_cluster;
drop type cluster_state;
drop table limit_states, cluster_term, servers;
drop function database_name, end_usage, forget_server, check_term, check_limits, prune_key_limits, leave_out_unknown_scope;
