lock table tenants in access exclusive mode;
drop function begin_mailbox cascade;
drop function mail_state, finish_mail, invite_mailed, claim_mails, own_mailbox, invite_by_mail, answer_mail, ask_mailbox;
