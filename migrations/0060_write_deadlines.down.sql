drop trigger pets_refuse_late_insert on pets;
drop trigger pets_refuse_late_update on pets;
drop trigger orders_refuse_late_update on orders;
drop function refuse_late_write();
