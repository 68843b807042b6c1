"""A change of a principal's rights raises the configuration version; a permission that a tool names can be granted.

Logging in writes `last_login` alone and raises nothing.
"""

from django.db import migrations

RAISE = """
CREATE TRIGGER {table}_rights_changed AFTER {event} ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION liyagent_config_changed()
"""
EVENTS = {
    "auth_user": "INSERT OR DELETE OR UPDATE OF username, is_active, is_superuser",
    "auth_user_groups": "INSERT OR DELETE OR UPDATE",
    "auth_user_user_permissions": "INSERT OR DELETE OR UPDATE",
    "auth_group_permissions": "INSERT OR DELETE OR UPDATE",
    "auth_permission": "DELETE OR UPDATE OF codename, content_type_id",
}
# Whoever saves a tool: the permission that it names appears in the lists of Django's user and group pages.
OFFER = """
CREATE FUNCTION liyagent_offer_permission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO auth_permission (name, content_type_id, codename)
        SELECT 'Calls tools that want ' || NEW.permission, id, NEW.permission FROM django_content_type
            WHERE app_label = 'gateway' AND model = 'tool'
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER gateway_tool_permission_offered AFTER INSERT OR UPDATE OF permission ON gateway_tool
    FOR EACH ROW WHEN (NEW.permission <> '') EXECUTE FUNCTION liyagent_offer_permission();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0003_tools_called_by_hand"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        *(
            migrations.RunSQL(
                RAISE.format(table=table, event=event),
                f"DROP TRIGGER {table}_rights_changed ON {table}",
            )
            for table, event in EVENTS.items()
        ),
        migrations.RunSQL(
            OFFER,
            "DROP TRIGGER gateway_tool_permission_offered ON gateway_tool;"
            "DROP FUNCTION liyagent_offer_permission();",
        ),
    ]
