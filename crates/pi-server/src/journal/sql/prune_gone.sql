-- No command is left that was accepted before.
delete from gone where sequence < coalesce((select sequence from command order by ticket limit 1), 9223372036854775807)
