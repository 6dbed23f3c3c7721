insert into leaderboard (id, sort_order, operator, reset_schedule, duration) values
    ('kills', 1, 2, null, 0), ('daily_laps', 0, 0, '0 0 * * *', 0), ('weekly', 1, 0, '0 0 * * 1', 0),
    ('monthly', 1, 1, '0 0 1 * *', 0), ('odd', 1, 0, '0 12 * * 3', 0), ('often', 1, 0, '0 */6 * * *', 0), ('debts', 1, 3, null, 0), ('cup', 1, 2, null, 3600);
insert into leaderboard_record (leaderboard_id, owner_id, score, subscore, metadata) values
    ('kills', '00000000-0000-0000-0000-000000000001', 50, 9, '{}'),
    ('kills', '00000000-0000-0000-0000-000000000002', 50, 0, '{"level": 3}'),
    ('kills', '00000000-0000-0000-0000-000000000003', 50, 3, '{}'),
    ('kills', '00000000-0000-0000-0000-000000000004', 90, 0, '{}'),
    ('cup', '00000000-0000-0000-0000-000000000001', 5, 0, '{}');
insert into leaderboard_record (leaderboard_id, owner_id, score, expiry_time) values
    ('daily_laps', '00000000-0000-0000-0000-000000000001', 12, date_trunc('day', now()) + interval '1 day'),
    ('daily_laps', '00000000-0000-0000-0000-000000000002', 10, date_trunc('day', now()) + interval '1 day'),
    ('daily_laps', '00000000-0000-0000-0000-000000000002', 8, date_trunc('day', now()));
