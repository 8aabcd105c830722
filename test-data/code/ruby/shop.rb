#!/usr/bin/env ruby
# frozen_string_literal: true

# Copyright 2026 the shop's authors.

require "json"

# A shop.
#
# It sells things.
module Shop
  VERSION = "1.2.0"

  # The kinds of payment.
  PAYMENTS = [
    :cash,
    :card,
  ].freeze

  Error = Class.new(StandardError)

  # A price.
  Price = Struct.new(:cents, :currency) do
    def to_s
      format("%.2f %s", cents / 100.0, currency)
    end
  end

  def self.open(path) = new(path)

  # A thing to buy.
  class Item
    include Comparable

    # The name and the price.
    attr_reader :name, :price
    attr_accessor :count

    class << self
      # Reads one.
      def parse(text)
        new(*text.split(","))
      end

      private

      def helper; end
    end

    # Makes one.
    def initialize(
      name,
      price: Price.new(0, "EUR")
    )
      # Names are kept as they are.
      @name = name
      @price = price
    end

    def self.build(name) = new(name)

    def <=>(other)
      name <=> other.name
    end

    def [](key) = @data[key]

    def count=(count)
      @count = count
    end

    def cheap?
      price.cents < 100
    end

    def größe; 1; end

    private def secret
      def inner
        1
      end
      inner
    end

    protected

    def rank = 1

    private

    attr_writer :stock

    def restock!
      local = 1
      @stock = local
    end

    public

    def sell(count) count.times { yield } end
  end

  class Item::Error < Error; end

  # The same class, opened again.
  class Item
    def cheap?
      false
    end
  end
end

Shop::LIMIT = 10

class Empty
end

class ShopTest < Minitest::Test
  def setup
    @item = Shop::Item.new("a")
  end

  def test_name
    assert_equal "a", @item.name
  end
end

def main
  puts Shop::VERSION
end

main if $PROGRAM_NAME == __FILE__
