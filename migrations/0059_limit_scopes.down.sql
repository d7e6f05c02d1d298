drop trigger limit_states_scope on limit_states;
drop function leave_out_unknown_scope;
