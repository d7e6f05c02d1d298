drop table pets;
