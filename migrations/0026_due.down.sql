drop function tell_due;
