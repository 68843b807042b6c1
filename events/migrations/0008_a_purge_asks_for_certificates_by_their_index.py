"""Each event that is purged asks for its chain's certificate: by the index, also where the plan was made while there were few.

A session keeps the plan of its first event. Made over a table that is known to hold little, it walks through it, and so
through all that the same purge has certified since: each chain took longer than the one before.
"""

from django.db import migrations

BY_INDEX = "ALTER FUNCTION liyagent_refuse_but_purge() SET enable_seqscan = off"
BACK = "ALTER FUNCTION liyagent_refuse_but_purge() RESET enable_seqscan"


class Migration(migrations.Migration):
    dependencies = [("events", "0007_held_heads_wait_beside_the_next_root")]

    operations = [migrations.RunSQL(BY_INDEX, BACK)]
