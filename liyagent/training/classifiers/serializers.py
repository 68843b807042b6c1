"""Classifiers as the API takes and shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.training.classifiers.examples import LONGEST_TEXT
from liyagent.training.classifiers.models import Classifier


class ExampleInput(serializers.Serializer[Any]):
    """One example."""

    text = Words()
    label = Words()  # type: ignore[assignment]  # the name of a field, not of ours


class RunsInput(StrictSerializer):
    """Past runs as examples: tasks of runs recorded in full, with the key of their agent as the label."""

    since = Words(max_length=40, required=False, default="")
    until = Words(max_length=40, required=False, default="")
    agents = serializers.ListField(child=Words(max_length=80), default=list, max_length=100)


class TrainingRequest(StrictSerializer):
    """Either `examples` or `runs`."""

    examples = ExampleInput(many=True, required=False)
    runs = RunsInput(required=False)


class TextInput(StrictSerializer):
    """What is classified, and by which version; by default the newest."""

    text = Words(max_length=LONGEST_TEXT)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)


class LikelySerializer(serializers.Serializer[Any]):
    """A label and its probability, from 0 to 1."""

    label = serializers.CharField()  # type: ignore[assignment]  # as above
    probability = serializers.FloatField()


class ClassifiedSerializer(serializers.Serializer[Any]):
    """What a version says of a text, the likeliest first."""

    classifier = serializers.CharField()
    version = serializers.IntegerField()
    label = serializers.CharField()  # type: ignore[assignment]  # as above
    likeliest = LikelySerializer(many=True)


class ClassifierSerializer(serializers.ModelSerializer[Classifier]):
    """A version, and how good it was on examples that it was not trained on."""

    labels = serializers.DictField(child=serializers.IntegerField())

    class Meta:
        model = Classifier
        fields = (
            "key",
            "version",
            "labels",
            "trained_on",
            "measured_on",
            "accuracy",
            "baseline",
            "job_id",
            "trained_by",
            "created_at",
        )
        read_only_fields = fields


class ClassifierVersions(serializers.Serializer[Any]):
    """Every version that is kept, the newest first."""

    versions = ClassifierSerializer(many=True)
